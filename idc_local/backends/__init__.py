"""Adapters around the libraries that run models; each loads its library when it is first used."""

"""Kernels to fewer kernels: views, producers and siblings join what reads them."""

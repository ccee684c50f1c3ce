"""The composition root of the daemon: settings become adapters, engines, services and the server over them."""

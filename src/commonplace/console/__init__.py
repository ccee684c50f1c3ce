"""The web console: plain ES modules and CSS, served by `server.console`. Nothing here is Python."""

"""How files and talk become memory."""

"""Files that several processes share: a lock that ends with its holder, and writes that are whole or not there."""

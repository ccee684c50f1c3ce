"""What was said: sessions and messages. They answer "what was said", and are no memory: no recall finds them."""

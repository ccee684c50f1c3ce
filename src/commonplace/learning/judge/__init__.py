"""
A small learned judge of sentences: is it worth remembering, and is it about the person or about the project?

Rules find what is written like something their author knew. The judge weighs what a sentence means (512 numbers of the sentence model that the default
embedder has), the words themselves by their hashes, and a few cues. `tools/judge.py` learns the weights from labelled sentences and talks
(`tests/evaluation/learning/training`); a judgement is one sum, and no language model is needed.
"""

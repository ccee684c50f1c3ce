"""
The librarian: a pydantic-ai model that needs no language model.

It reads the messages of a conversation like any model, and answers with calls of the tools that it is offered, or with text. `intents`
says what a sentence wants, `dialogue` what has been said and done so far, `steps` and `changes` what comes next, `quotes` which sentences of a
memory answer a question, and `phrases` how it says so in English and Chinese. Nothing is kept between two requests: the same messages
always get the same answer.
"""

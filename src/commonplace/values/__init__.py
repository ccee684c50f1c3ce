"""The frozen values that every layer speaks. They import nothing but the errors."""

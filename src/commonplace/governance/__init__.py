"""Who may: roles, keys, capabilities, budgets and limits. Decides, never acts."""

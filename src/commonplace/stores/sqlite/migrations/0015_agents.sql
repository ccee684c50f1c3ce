-- How an agent is set up, as JSON; NULL if nobody did.
ALTER TABLE owners ADD COLUMN profile TEXT;

-- The tokens that a token hangs on: the one that minted it, the one that minted that, and so on up to a token that none minted.
-- It ends when any of them does, and never exceeds any of them. The list is written once, from tokens that already stand, so no token
-- can hang on itself. Tokens from before this were minted by nobody.
alter table token add column minters text[] not null default '{}' check (cardinality(minters) < 10);

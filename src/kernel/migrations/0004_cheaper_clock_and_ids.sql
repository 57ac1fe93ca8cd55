-- The same clock, and the same ids for about half of the time. Nearly every statement that writes asks for them.

-- From the row itself: a query inside an expression is a second plan.
create or replace function now() returns timestamptz(3) language sql stable parallel safe
  as $$ select (clock_timestamp() + clock_offset)::timestamptz(3) from kernel.clock $$;

-- As before 48 bits of time and then 16 characters of chance: ten characters are written one by one instead of 26 being made, sorted and
-- joined as rows. Base64 has 64 characters for our 32, two for each, so that 12 bytes of chance give 16. The bytes that a UUID uses for its
-- version and its variant are left out.
create or replace function new_id(type text) returns text language plpgsql volatile parallel safe as $$
declare
  letters constant text := '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  ms constant bigint := (select date_part('epoch', (clock_timestamp() + clock_offset)::timestamptz(3)) * 1000 from kernel.clock);
  random constant bytea := uuid_send(gen_random_uuid());
begin
  return type || '_'
    || substr(letters, 1 + (ms >> 45 & 31)::int, 1) || substr(letters, 1 + (ms >> 40 & 31)::int, 1)
    || substr(letters, 1 + (ms >> 35 & 31)::int, 1) || substr(letters, 1 + (ms >> 30 & 31)::int, 1)
    || substr(letters, 1 + (ms >> 25 & 31)::int, 1) || substr(letters, 1 + (ms >> 20 & 31)::int, 1)
    || substr(letters, 1 + (ms >> 15 & 31)::int, 1) || substr(letters, 1 + (ms >> 10 & 31)::int, 1)
    || substr(letters, 1 + (ms >> 5 & 31)::int, 1) || substr(letters, 1 + (ms & 31)::int, 1)
    || translate(encode(substr(random, 1, 6) || substr(random, 10, 6), 'base64'),
                 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
                 '0123456789ABCDEFGHJKMNPQRSTVWXYZ0123456789ABCDEFGHJKMNPQRSTVWXYZ');
end $$;

-- Whose status page an attempt was for; null: a host of the installation. One organization's domains do not use up what all may ask.
alter table attempt add column org_id text;

-- Whose open invitations end when a member is removed. Null: of an older release, or the operator's.
alter table identity.invitation add column invited_by text;

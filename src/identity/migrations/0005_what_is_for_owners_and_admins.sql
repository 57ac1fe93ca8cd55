-- The IAM catalog, grants and contacts are for owners and admins alone. Custom roles that hold them stop saying so; they give them no more.
update identity.custom_role
   set permissions = array(select p from unnest(permissions) p where p <> all (array['iam.grant.admin', 'organization.contacts.write']))
 where permissions && array['iam.grant.admin', 'organization.contacts.write'];

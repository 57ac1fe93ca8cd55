-- The indexes that list a manifest are read slice by slice, in the order of their ids. The index before had only the first two columns.
create index manifest_child_by_lister on manifest_child (repository_id, digest, parent_id);
drop index manifest_child_by_digest;

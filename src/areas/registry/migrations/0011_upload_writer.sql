-- Which process last wrote to an upload, and until when it alone may: servers that share a store keep apart by it. Null: nobody yet.
alter table registry.upload add column writer text, add column writer_until timestamptz(3);

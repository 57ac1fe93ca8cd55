-- How somebody is paged is theirs in every organization: the row that they saved last counts, wherever they saved it.
create index paging_settings_by_user on oncall.paging_settings (user_id, updated_at desc);
create index paging_settings_by_phone on oncall.paging_settings (phone) where phone is not null;

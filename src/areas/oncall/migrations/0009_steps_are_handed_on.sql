-- Whether the step that fired last has nobody left whom it could still page: its pages failed, and everybody in its rotation was tried.
alter table incident add column step_given_up boolean not null default false;

-- Every change of a page's state, and every step of a walk, writes an entry into each index of its row. These two nothing needs: the
-- pages of an incident are found by page_once, which begins with the same columns, and nothing asks for incidents by their age alone.
drop index page_by_incident;
drop index incident_by_age;

/*
 * Identity begins here: who sends a request, and what may the sender do? The areas tokens, iam and organization change the data that this
 * folder reads; identity itself imports no area.
 *
 * Actors. A credential is presented as a key (token-format.ts). Its kind has a loader: rights.ts for personal tokens, the areas for keys of
 * their own (`loaders` of an area's index.ts). The result is a `Principal`: credential, organization, user, grants.
 *
 * Flow. key → checksum and hash (`recognize`) → cache → else the loader's one statement (store/principals.ts), which attempts.ts throttles
 * for an address with wrong keys. Grants are owner ∩ scope ∩ every ceiling and minter's scope (rules/grants.ts).
 *
 * Use. control-api/ binds operations to routes; planes of the areas ask `Principals` themselves. context.ts is what a handler sees. A write
 * shares the locks of the principal's topics and reads its rights again (rights-lock.ts, decision 0019), then writes its audit row (audit.ts).
 *
 * States of a cached principal: valid until its first expiry in the lineage; dropped, when a change of rights notifies one of its topics.
 * Then its `signal` aborts, and a request that still waits looks it up again. Unknown keys are cached for 5 s.
 *
 * Crash. The cache, the rate limits and the counts of guesses are memory and start empty. Rights, audit rows and idempotent answers are in
 * PostgreSQL, committed with the change. Times of last use are written in batches, and the last seconds of them can be lost.
 */
export {};

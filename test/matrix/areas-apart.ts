/** Areas whose operations have a test file of their own, so that two processors share the work. */
export const areasApart: ReadonlySet<string> = new Set(['email', 'registry', 'clusters', 'oncall']);

/** Reserved words: they have another meaning as the first part of a path or an image name. */
const words = new Set([
  ...['v1', 'v2', 'token', 'api', 'admin', 'library', 'oidc', 'login', 'logout', 'health', 'healthz', 'readyz', 'metrics', 'docs'],
  ...['status', 'console', 'assets', 'static', 'registry', 'catalog', 'quarterdeck', 'root', 'system', 'www', 'localhost', 'docker'],
]);

export const isReserved = (slug: string): boolean => words.has(slug);

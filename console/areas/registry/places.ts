// Where the screens of a registry are, and how its images are named. Pure.

export const registryPath = (slug: string, part = ''): string => `/registry/${encodeURIComponent(slug)}${part && `/${part}`}`;
export const repositoryPath = (slug: string, repo: string): string => registryPath(slug, `repository?name=${encodeURIComponent(repo)}`);
export const imagePath = (slug: string, repo: string, reference: string): string =>
  registryPath(slug, `image?repo=${encodeURIComponent(repo)}&reference=${encodeURIComponent(reference)}`);

export const crumbsTo = (slug?: string, repo?: string) => [
  { to: '/registry', label: 'Registries' },
  ...(slug ? [{ to: registryPath(slug), label: slug }] : []),
  ...(slug && repo ? [{ to: repositoryPath(slug, repo), label: repo }] : []),
];

/** `HOST/<registry>/<repository>`, with a tag or a digest. */
export const imageName = (slug: string, repo: string, reference = ''): string =>
  `${location.host}/${slug}/${repo}${reference && (reference.includes(':') ? `@${reference}` : `:${reference}`)}`;

/** Enough of a digest to tell it from others; what is copied is whole. */
export const shortDigest = (digest: string): string => digest.slice(0, digest.indexOf(':') + 13);

export const prefixesIn = (text: string): string[] | undefined => {
  const found = text.split(/[\s,]+/).filter(Boolean);
  return found.length ? found : undefined;
};

export const imageKinds = ['registry.image', 'registry.registry'];

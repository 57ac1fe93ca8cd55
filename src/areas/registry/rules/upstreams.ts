import type { App } from '../../../kernel/app.ts';

export interface Upstream {
  host: string;
  endpoint: string;
}

export const catalogOf = (app: App): readonly Upstream[] => app.config.registry_upstreams;

export const upstreamAt = (app: App, host: string): Upstream | undefined => catalogOf(app).find((u) => u.host === host);

/** The catalog host that a repository's name begins with; undefined for an ordinary one. */
export function hostOf(app: App, repository: string): string | undefined {
  const slash = repository.indexOf('/');
  return slash < 0 ? undefined : upstreamAt(app, repository.slice(0, slash))?.host;
}

/** What the upstream calls it. Docker Hub's own images have a part that nobody writes. */
export function upstreamPath(host: string, repository: string): string {
  const path = repository.slice(host.length + 1);
  return host === 'docker.io' && !path.includes('/') ? `library/${path}` : path;
}

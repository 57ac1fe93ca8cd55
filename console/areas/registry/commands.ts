import { imageName } from './places.ts';

// Lines to paste. Pure but for the host of this page.

export const tools = ['docker', 'podman', 'skopeo'] as const;
export type Tool = (typeof tools)[number];

const fileOf = (repo: string) => `${repo.split('/').at(-1)!}.tar`;

export function pullLine(tool: Tool, slug: string, repo: string, reference: string): string {
  const name = imageName(slug, repo, reference);
  return tool === 'skopeo' ? `skopeo copy docker://${name} oci-archive:${fileOf(repo)}` : `${tool} pull ${name}`;
}

export const pushLines = (slug: string, repo: string): string => {
  const name = imageName(slug, repo, 'v1');
  return `docker tag ${repo.split('/').at(-1)!} ${name}\ndocker push ${name}`;
};

/** The password goes through a pipe, so that no list of processes shows it. */
export const loginLine = ({ username, password }: { username: string; password: string }): string =>
  `echo '${password}' | docker login ${location.host} --username ${username} --password-stdin`;

export const pullSecretLine = ({ username, password }: { username: string; password: string }): string =>
  `kubectl create secret docker-registry quarterdeck \\\n  --docker-server=${location.host} --docker-username=${username} --docker-password='${password}'`;

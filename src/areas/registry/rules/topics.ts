// What the data plane remembers is forgotten by these words, in every process, in the transaction that makes it untrue.
export const topics = {
  registry: (id: string) => `registry ${id}`,
  repository: (id: number) => `repository ${id}`,
  tag: (repositoryId: number, name: string) => `tag ${repositoryId} ${name}`,
  manifest: (repositoryId: number, digest: string) => `manifest ${repositoryId} ${digest}`,
  upstream: (registryId: string, host: string) => `upstream ${registryId}/${host}`,
  blob: (repositoryId: number, digest: string) => `blob ${repositoryId} ${digest}`,
};

// Cache topics of the data plane. The transaction that changes something drops its topic in every process.
export const topics = {
  registry: (id: string) => `registry ${id}`,
  repository: (id: number) => `repository ${id}`,
  tag: (repositoryId: number, name: string) => `tag ${repositoryId} ${name}`,
  manifest: (repositoryId: number, digest: string) => `manifest ${repositoryId} ${digest}`,
  upstream: (registryId: string, host: string) => `upstream ${registryId}/${host}`,
  blob: (repositoryId: number, digest: string) => `blob ${repositoryId} ${digest}`,
};

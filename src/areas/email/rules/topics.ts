// Cache invalidation topics. The transaction that changes a domain publishes its topic to every process.
export const topics = {
  domain: (id: string) => `email domain ${id}`,
};

// What is remembered of domains is forgotten by these words, in every process, in the transaction that makes it untrue.
export const topics = {
  domain: (id: string) => `email domain ${id}`,
};

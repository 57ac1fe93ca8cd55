/** The domain of a validated address; it is in lower-case ASCII. */
export const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1);

/** The key for search and suppression: addresses that differ only in case are equal. */
export const foldAddress = (address: string): string => address.toLowerCase();

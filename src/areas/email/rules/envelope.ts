/** The domain of an address that a door has judged: what follows its last @, which is in lower-case ASCII. */
export const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1);

/** Two addresses that nobody would tell apart: search and suppression go by this. */
export const foldAddress = (address: string): string => address.toLowerCase();

/** Who asks, as far as a browser tells. */
export interface Visitor {
  address: string;
  agent: string;
  requestId: string;
  /** The cookie of a browser in which a person has signed in before (rules/known-browser.ts). */
  knownKey?: string | undefined;
  /** The session that the browser has already. It ends with the beginning of another one. */
  former?: (Person & { session_id: string }) | undefined;
}

export interface Person {
  id: string;
  email: string;
}

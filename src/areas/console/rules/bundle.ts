/** The parts of the console by name, and what its document loads first. */
export interface Bundle {
  files: Map<string, Uint8Array>;
  script: string;
  style: string;
  /** Parts that the script imports at once: told to the browser before it has read the script. */
  preloads: string[];
}

import type { ResourceSource } from '../../identity/resources.ts';
import type { Host, Opened } from '../area.ts';

export interface OpenTokens {
  /** What a role can be narrowed to, of every area. */
  resources: readonly ResourceSource[];
}

export const openTokens = ({ resources }: Host): Opened<OpenTokens> => ({ own: { resources } });

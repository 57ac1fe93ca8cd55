import type { ResourceSource } from '../../identity/resources.ts';
import type { Host, Opened } from '../area.ts';

export interface OpenIam {
  /** What a role can be narrowed to, of every area. */
  resources: readonly ResourceSource[];
}

export const openIam = ({ resources }: Host): Opened<OpenIam> => ({ own: { resources } });

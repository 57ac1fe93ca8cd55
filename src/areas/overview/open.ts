import type { Host, Opened } from '../area.ts';
import type { Ports } from '../ports.ts';

export interface OpenOverview {
  ports: Ports;
}

export const openOverview = ({ ports }: Host): Opened<OpenOverview> => ({ own: { ports } });

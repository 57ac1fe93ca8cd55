import type { Job } from '../../kernel/jobs/index.ts';
import { calmDown } from './engine/calm-down.ts';
import { maintenanceTurn } from './engine/maintenance.ts';

export const jobs: Job[] = [calmDown, maintenanceTurn];

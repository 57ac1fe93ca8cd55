import type { Job } from '../../kernel/jobs/index.ts';
import { endFlapping } from './engine/end-flapping.ts';
import { maintenanceTurn } from './engine/maintenance.ts';
import { notifyOncall } from './engine/notify-oncall.ts';
import { recountMaintenance } from './engine/recount-maintenance.ts';

export const jobs: Job[] = [endFlapping, maintenanceTurn, notifyOncall, recountMaintenance];

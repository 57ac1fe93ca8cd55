import type { Job } from '../../kernel/jobs/index.ts';
import { calmDown } from './engine/calm-down.ts';
import { giveBack } from './engine/give-back.ts';
import { maintenanceTurn } from './engine/maintenance.ts';
import { tellOncall } from './engine/tell-oncall.ts';

export const jobs: Job[] = [calmDown, maintenanceTurn, tellOncall, giveBack];

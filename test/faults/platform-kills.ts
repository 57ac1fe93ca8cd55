/** The whole server under kill -9 while others write, every other time together with its database, QUARTERDECK_FAULT_ROUNDS times (default 20). */
import { test } from 'node:test';
import { killUnderLoad } from '../platform/kill-under-load.ts';

const kills = Number(process.env.QUARTERDECK_FAULT_ROUNDS ?? 20);

test(`nothing acknowledged is lost over ${kills} kills`, { timeout: 3_600_000 }, (t) => killUnderLoad(t, kills));

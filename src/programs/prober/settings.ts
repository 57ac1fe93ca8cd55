import { exitCodes, Stop } from '../../kernel/errors.ts';
import { type ProberSettings, settingsVariable } from '../../protocols/prober-settings.ts';

export function readSettings(env: NodeJS.ProcessEnv): ProberSettings {
  const text = env[settingsVariable];
  if (text === undefined)
    throw new Stop(exitCodes.usage, 'this program is started by `quarterdeck serve` and `quarterdeck probe`; use those');
  return JSON.parse(text) as ProberSettings;
}

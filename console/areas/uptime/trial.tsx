import { useState } from 'preact/hooks';
import type { UptimeTrial } from '../../../sdk/browser.ts';
import { act } from '../../data/act.ts';
import { api, sentenceOf } from '../../data/api.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { Sheet } from '../../ui/sheet.tsx';
import { Age } from '../../ui/time.tsx';
import { type MonitorValues, targetInput, timeoutMsOf } from './monitor-values.ts';
import { errorWords, milliseconds } from './words.ts';

interface TrialProps {
  values: MonitorValues;
  /** Its stored values stand for `***`. */
  monitorId: string | undefined;
  /** Shows a mistake at its field. */
  noted<T>(work: () => T): T;
}

/** Makes the check once, before anything is saved. */
export function Trial({ values, monitorId, noted }: TrialProps) {
  const why = useWhy();
  const [seen, setSeen] = useState<{ trial: UptimeTrial } | { problem: string }>();
  const attemptOnce = async () => {
    setSeen(undefined);
    try {
      const input = noted(() => ({ ...targetInput(values), timeoutMs: timeoutMsOf(values), ...(monitorId ? { monitorId } : {}) }));
      const done = await act({ what: 'try the check', kinds: [], work: () => api().uptime.tryMonitor(input) });
      if (done) setSeen({ trial: done.answer });
    } catch (error) {
      setSeen({ problem: sentenceOf(error) });
    }
  };
  return (
    <div class="field">
      <Button why={why('tryMonitor')} onPress={attemptOnce}>
        Try it now
      </Button>
      <p class="hint">One check from this server. Nothing is saved.</p>
      <div role="status">
        {seen && 'problem' in seen && <p class="note bad">{seen.problem}</p>}
        {seen && 'trial' in seen && <Seen trial={seen.trial} />}
      </div>
    </div>
  );
}

const phases = [
  ['resolve', 'name'],
  ['connect', 'connect'],
  ['tls', 'TLS'],
  ['firstByte', 'first byte'],
  ['transfer', 'transfer'],
] as const;

function Seen({ trial }: { trial: UptimeTrial }) {
  const { passed, latencyMs, errorKind, errorDetail, responseSnippet, status, redirects, httpVersion, ipVersion, tlsVersion } = trial;
  const parts = phases.flatMap(([key, word]) => (trial.phases[key] === undefined ? [] : [`${word} ${milliseconds(trial.phases[key])}`]));
  return (
    <div class={`note ${passed ? 'good' : 'bad'}`}>
      <p>
        <strong>{passed ? `It passes, in ${milliseconds(latencyMs)}.` : `It fails: ${errorWords(errorKind ?? trial.outcome)}.`}</strong>
        {errorDetail && <bdi> {errorDetail}</bdi>}
      </p>
      <Sheet
        rows={[
          status !== undefined && ['Status', `${status}${redirects ? ` after ${redirects} redirects` : ''}`],
          parts.length > 0 && ['Time', parts.join(', ')],
          httpVersion !== undefined && [
            'Protocol',
            [`HTTP ${httpVersion}`, ipVersion && `IPv${ipVersion}`, tlsVersion].filter(Boolean).join(', '),
          ],
          trial.certificateEndsAt !== undefined && ['Certificate ends', <Age key="ends" at={trial.certificateEndsAt} />],
          responseSnippet !== undefined && [
            'Answer',
            <pre key="answer" class="answer">
              {responseSnippet}
            </pre>,
          ],
        ]}
      />
    </div>
  );
}

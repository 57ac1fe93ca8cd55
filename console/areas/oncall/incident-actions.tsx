import { useMemo, useState } from 'preact/hooks';
import type { OncallIncident } from '../../../sdk/browser.ts';
import { useWhy } from '../../data/rights.ts';
import { type Key, useScreenKeys } from '../../shell/keys.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { acknowledge, resolve } from './incident-acts.ts';

/** Acknowledge and resolve, by button and by key: on the incident and on its story. */
export function IncidentActions({ incident }: { incident: Pick<OncallIncident, 'id' | 'title' | 'status' | 'serviceId'> }) {
  const why = useWhy();
  const [isAsked, setAsked] = useState(false);
  const { status, title, serviceId } = incident;
  const notAcknowledged = status === 'open' ? why('acknowledgeIncident', serviceId) : `It is ${status}`;
  const notResolved = status === 'resolved' ? 'It is resolved' : why('resolveIncident', serviceId);
  useScreenKeys(
    useMemo<Key[]>(
      () => [
        { keys: 'a', what: 'Acknowledge', act: () => notAcknowledged || void acknowledge([incident]) },
        { keys: 'r', what: 'Resolve', act: () => notResolved || setAsked(true) },
      ],
      [incident, notAcknowledged, notResolved],
    ),
  );
  return (
    <>
      <Button kind={status === 'open' ? 'primary' : 'plain'} why={notAcknowledged} onPress={() => acknowledge([incident])} shortcut="a">
        Acknowledge
      </Button>
      <Button why={notResolved} onPress={() => setAsked(true)} shortcut="r">
        Resolve
      </Button>
      {isAsked && (
        <Confirm
          title={`Resolve “${title}”?`}
          action="Resolve"
          onClose={() => setAsked(false)}
          onConfirm={() => resolve([incident]).then(() => setAsked(false))}
        >
          <p>It is final: what fires afterwards opens a new incident. Pages that are not on their way yet are canceled.</p>
        </Confirm>
      )}
    </>
  );
}

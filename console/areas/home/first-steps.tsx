import type { Overview } from '../../data/overview.ts';
import { Code } from '../../ui/copy.tsx';
import { Link } from '../../ui/link.tsx';
import { Sign } from '../../ui/sign.tsx';

const steps: Record<string, { title: string; to: string; command: string }> = {
  service: {
    title: 'Name a service that people rely on',
    to: '/uptime/services',
    command: 'quarterdeck oncall services create --name checkout',
  },
  monitor: {
    title: 'Watch an address',
    to: '/uptime/monitors/new',
    command: 'quarterdeck uptime monitors create --name front --kind http --http url=https://shop.example/ --interval 30s --vantages local',
  },
  schedule: {
    title: 'Say who is on call',
    to: '/oncall/schedules/new',
    command:
      'quarterdeck oncall schedules create --name primary --timezone Europe/Paris --handoff weekly,mon,09:00 --participant you@example.com',
  },
  policy: {
    title: 'Say who is paged for the service',
    to: '/oncall/policies',
    command: 'quarterdeck oncall escalation-policies create --name night --repeat 1 --step schedule=primary,wait=5m',
  },
  paging: { title: 'Try that a page reaches you', to: '/oncall/me', command: 'quarterdeck oncall me settings get' },
  image: { title: 'Push an image', to: '/registry', command: 'quarterdeck registry create --slug shop' },
  domain: {
    title: 'Send mail from your domain',
    to: '/email/domains',
    command: 'quarterdeck email domains create --name example.com --wait',
  },
  cluster: { title: 'Make a cluster', to: '/clusters', command: 'quarterdeck clusters create --name dev --tier small --wait' },
};

/** What a new organization does first. It goes away when all of it is done. */
export function FirstSteps({ steps: list }: { steps: Overview['firstSteps'] }) {
  if (!list.length) return null;
  const left = list.filter(({ done }) => !done);
  return (
    <section>
      <h2>
        First steps <span class="faint">{left.length} to go</span>
      </h2>
      <ol class="steps">
        {list.map(({ step, done }) => {
          const known = steps[step];
          if (!known) return null;
          return (
            <li key={step} class={done ? 'done' : undefined}>
              <Sign of={done ? 'good' : 'waiting'} />{' '}
              {done ? (
                <span>
                  {known.title} <span class="faint">· done</span>
                </span>
              ) : (
                <Link to={known.to}>{known.title}</Link>
              )}
              {step === left[0]?.step && <Code text={known.command} label="The command that does it" />}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

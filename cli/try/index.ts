import type { Command as Commander } from 'commander';
import type { CliContext } from '../connect.ts';
import { addTrial } from './support.ts';

/** `quarterdeck try …`: makes a small real thing of each kind on a server that was started with --try, and shows it. */
export function registerTry(program: Commander, here: CliContext) {
  const group = program
    .command('try')
    .description('make a small real thing of each kind: push, mail, page, monitor, cluster')
    .helpCommand(false);
  const add = (name: string, description: string) => group.command(name).description(description);
  addTrial(add('push', 'push a tiny image to the registry `try`, and list its tags'), here, async (trial) =>
    (await import('./push.ts')).tryPush(trial),
  );
  addTrial(add('mail', 'send a message from try.example, and wait until it is delivered'), here, async (trial) =>
    (await import('./mail.ts')).tryMail(trial),
  );
  addTrial<{ ack?: boolean; really?: boolean }>(
    add('page', 'raise an alert that pages you').option('--ack', 'acknowledge the incident too'),
    here,
    async (trial, { ack = false }) => (await import('./page.ts')).tryPage(trial, ack),
  );
  addTrial(add('monitor', 'watch this server’s own health page, and wait until it is up'), here, async (trial) =>
    (await import('./monitor.ts')).tryMonitor(trial),
  );
  addTrial(add('cluster', 'make a Kubernetes cluster, and ask its API for the namespaces'), here, async (trial) =>
    (await import('./cluster.ts')).tryCluster(trial),
  );
}

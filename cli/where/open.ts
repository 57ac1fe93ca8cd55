import { spawn } from 'node:child_process';
import { Argument, type Command as Commander } from 'commander';
import { connectionOptions, defined, rootOptions } from '../command.ts';
import { commandName } from '../command-name.ts';
import { type CliContext, type Connection, type ConnectionOptions, call, findConnection } from '../connect.ts';
import { exitCodes, Failure, usage } from '../exit.ts';
import { printable } from '../printable.ts';
import { tell } from '../tell.ts';

const pages = { home: '/', console: '/o', docs: '/docs' } as const;

export function registerOpen(program: Commander, here: CliContext) {
  const command = program
    .command('open')
    .description('the browser at a page of the server: home, console, docs, or a status page; prints the address where there is no browser')
    .addArgument(new Argument('[page]', 'which page').choices([...Object.keys(pages), 'status']).default('home'))
    .argument('[slug]', 'of the status page')
    .option('--print', 'only print the address');
  for (const option of connectionOptions()) command.addOption(option);
  command.action(async (page: keyof typeof pages | 'status', slug: string | undefined, given: ConnectionOptions & { print?: boolean }) => {
    const connection = await findConnection({ ...rootOptions(command), ...defined(given) }, here);
    const address = page === 'status' ? await statusPageUrl(connection, here, slug) : `${connection.url}${pages[page]}`;
    process.stdout.write(`${printable(address)}\n`);
    if (!given.print && process.stdout.isTTY) openBrowser(address, here.env);
  });
}

async function statusPageUrl(connection: Connection, here: CliContext, slug: string | undefined): Promise<string> {
  const { pages: all } = await call(connection, here, {}, (api) => api.status.listStatusPages());
  const page = slug === undefined && all.length === 1 ? all[0] : all.find((each) => each.slug === slug);
  if (page) return webAddress(page.url);
  if (!all.length) throw new Failure(exitCodes.notFound, `there is no status page yet; \`${commandName} status pages create\` makes one`);
  const list = `${commandName} status pages list shows them`;
  return slug === undefined
    ? usage(`name one of ${all.length} status pages by its slug; ${list}`)
    : Promise.reject(new Failure(exitCodes.notFound, `there is no status page ${JSON.stringify(slug)}; ${list}`));
}

/** As the URL standard spells it: what is printed is what a browser would be given. */
function webAddress(text: string): string {
  const url = URL.parse(text);
  if (url && /^https?:$/.test(url.protocol)) return url.href;
  throw new Failure(
    exitCodes.unavailable,
    `the server gives ${JSON.stringify(text)} as the address of the page, which no browser can open`,
  );
}

/** The address is one argument of a program, never part of a shell's line. */
export function openBrowser(address: string, env: NodeJS.ProcessEnv) {
  const isDesktop = process.platform === 'darwin' || env['DISPLAY'] || env['WAYLAND_DISPLAY'];
  if (!isDesktop) return;
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open';
  spawn(program, [address], { stdio: 'ignore', detached: true })
    .on('error', () => tell(`quarterdeck: ${program} could not be started; open the address above yourself`))
    .unref();
}

// Loaded before the program of a server that is to replace another one (bin/parent.mjs): a broken program ends before it can say why.
process.on('uncaughtExceptionMonitor', (error) => {
  const [place = ''] = String(error?.stack).split('\n');
  const why = [place.startsWith('file:') ? place : '', error?.name, error?.message];
  process.send?.({ type: 'failed', why: why.filter(Boolean).join(': ') });
});

import { ThingSheet } from '../../ui/thing-sheet.tsx';

/** A message, the fate of each recipient and everything that happened. */
export default function Message({ params }: { params: Record<string, string> }) {
  return (
    <ThingSheet
      title="Message"
      operation="getMessage"
      params={[params['id']!]}
      name="subject"
      state="state"
      crumbs={[{ to: '/email/messages', label: 'Messages' }]}
    />
  );
}

import { stripAccents } from './strip-accents.ts';

// Words of other languages than English for unknown recipients, unknown senders and full mailboxes. Endings are open where a language inflects
// its words. Texts and patterns are stripped of diacritics, so each word appears once.

const recipients =
  '(?:be)?nutzer|empf(?:ä|ae)nger|empfangsadresse|adressat|postfach|konto|konta|adresse|dirección|indirizzo|endereço|compte|boîte|cuenta|conta\\b|buzón|casella|utente|caixa (?:postal|de correio)|usuario|utilizador|usuário|destinatár|destinatar|destinataire|utilisateur|abonné|użytkownik|odbiorc|skrzynk|gebruiker|ontvanger|postvak|användare|mottagare|bruger|modtage|postkasse|bruker|mottaker|käyttäj|vastaanottaj|postilaatikko|uživatel|příjemce|adresát|schránk|felhasználó|címzett|postafiók|kullanıcı|alıcı|posta kutusu|utilizator|korisnik|primatelj|adressen|adres';
const senders =
  'absender|expéditeur|émetteur|mittente|remitente|remetente|nadawc|odesílatel|avsänd|afsender|avsender|afzender|lähettäj|feladó|gönderen|expeditor|отправител|送信者|差出人|发件人|寄件人|보낸 사람|발신자';
const unknown =
  "unbekannt|nicht (?:mehr )?(?:bekannt|gefunden|vorhanden|registriert|gültig)|gibt es (?:hier )?nicht|existiert nicht|ung(?:ü|ue)ltig|inconnu|introuvable|inexist|inesistent|invalide|n'existe (?:pas|plus)|n'est (?:pas|plus) (?:valide|connu)|desconhecid|desconocid|no (?:fue |ha sido )?encontrad|não (?:foi )?encontrad|n'a pas (?:été|pu être) trouvé|no (?:es )?válid|não (?:é )?válid|inválid|no existe|não existe|sconosciut|non esiste|non (?:è stat[oa] )?trovat|non valid|errat[oa]|niezna|nieprawidłow|nie istnieje|nie znaleziono|onbekend|ongeldig|bestaat niet|okänd|finns inte|ukendt|findes ikke|ukjent|finnes ikke|tuntemat|ei ole olemassa|neznám|neexist|nem létezik|ismeretlen|bulunamadı|bilinmeyen|mevcut değil|geçersiz|(?:^| )yok(?![a-z])|necunoscut|nu există|ne postoji|nepoznat";
const removed =
  'gel(?:ö|oe)scht|geschlossen|supprim|clôtur|ferm[ée]e? (?:définitivement|par)|résilié|eliminad|borrad|cerrad|dad[ao] de baja|dado de baixa|excluíd|removid|apagad|encerrad|cancellat|eliminat|rimoss|chius[ao]|usunięt|zlikwidowan|skasowan|verwijderd|opgeheven|borttagen|raderat|slettet|nedlagt|poistettu|zrušen|smazán|törölt|megszűnt|silin|kapatıl|șters|obrisan';

/** The mailbox does not exist. */
const unknownParts = [
  // "Empfänger: unbekannter Fehler" is an unknown error, not an unknown recipient.
  `(?:${recipients})[^.;]{0,30}(?:${unknown})(?![^\\s.;]{0,4} (?:fehler|erreur|error|errore|erro|błąd|fel|fejl|feil|fout|virhe|chyba|hiba|hata)(?![a-z]))`,
  `(?:${unknown})[^\\s.;]{0,6} (?:${recipients})`,
  `(?:pas d'|aucun|n'a pas de|nessun|kein|no existe|no hay|nie ma (?:takiego|takiej|tego)|brak (?:takiego|takiej)?|nincs ilyen|nema (?:tog|takvog)|böyle bir|det finns ingen|geen)[^\\s.;]{0,2} ?(?:ningún |este |ese |dich[oa] |tel(?:le)? |e-?mail ?-?)?(?:${recipients}|persona\\b)`,
  // A directory does not list the recipient.
  '(?:pas|non) répertorié|nicht (?:im|in der|in dem) [^.;]{0,30}(?:verzeichnis|adressbuch)|no (?:figura|aparece|consta|está) en (?:el|la) [^.;]{0,20}(?:directorio|libreta)|non (?:presente|elencat[oa]|trovat[oa]) n[^.;]{0,30}(?:rubrica|elenco|directory)|não (?:consta|listado|está listado)[^.;]{0,20}diretório',
  'hat (?:das|die|unsere?) (?:unternehmen|firma|haus) verlassen|nicht mehr (?:im unternehmen|bei uns|in unserem haus)',
  'a quitté|ne travaille plus|ne fait plus partie|ya no trabaja|ya no existe|já não trabalha|não trabalha mais|non lavora più|non è più (?:attiv|valid)[oa]',
  '(?:ユーザ|アドレス|宛先|あて先|メールボックス|受信者)[^。]{0,15}(?:存在しません|存在しない|不明|見つかりません)',
  '(?:адрес|пользовател|ящик|абонент|получател|учетн)[^.;]{0,40}(?:не существует|не найден|не зарегистр|неизвест)|так(?:ого|ой) (?:почтов\\S{1,4} )?(?:ящик|пользовател|адрес|абонент|получател)',
  '(?:用户|用戶|邮箱|信箱|收件人|帳號|账号|地址)[^。]{0,10}(?:不存在|无效|未找到)|不存在的(?:用户|用戶|邮箱|收件人)|(?:没有|查无|無|无)此(?:用户|用戶|邮箱|信箱|收件人|帳號|账号|人)',
  '(?:사용자|수신자|받는 사람|메일박스|계정)[^.;]{0,15}(?:찾을 수 없|존재하지 않)|존재하지 않는 (?:사용자|수신자|메일|계정)|없는 (?:사용자|수신자|계정)',
];
export const unknownRecipient = new RegExp(stripAccents(unknownParts.join('|')));

/** The mailbox was removed. */
const removedParts = [
  `(?:${recipients})[^.;]{0,40}(?:${removed})`,
  `(?:${removed})[^\\s.;]{0,6} (?:${recipients})`,
  '(?:адрес|пользовател|ящик|абонент|учетн)[^.;]{0,30}(?:удал[её]н|закрыт)',
  '(?:用户|用戶|邮箱|信箱|帳號|账号)[^。]{0,10}(?:已删除|已被删除|已注销|已刪除)',
  '(?:アカウント|アドレス|メールボックス)[^。]{0,10}(?:削除|解約)|(?:사용자|계정)[^.;]{0,10}(?:삭제|탈퇴)',
];
export const removedRecipient = new RegExp(stripAccents(removedParts.join('|')));

/** The unknown address is our sender's. */
const senderParts = `(?:ihre?|votre|vostr[oa]|sua|seu|su|ваш[а-я]{0,2}) (?:e-?mail-?)?(?:adresse|konto|domain|server|compte|domaine|serveur|dirección|cuenta|dominio|servidor|indirizzo|endereço|conta|адрес|домен|сервер)[^.;]{0,40}(?:${unknown}|не существует|не найден|неизвест)|(?:${senders})[^.;。]{0,40}(?:${unknown}|не существует|не найден|неизвест|存在しません|不明|不存在|존재하지 않)|(?:${unknown})[^\\s.;]{0,6} (?:${senders})`;
export const unknownSender = new RegExp(stripAccents(senderParts));

/** The refused address is our IP address. */
export const networkAddress = /adresse ip|ip-?adres|direccion ip|indirizzo ip|endereco ip|adres ip|ip-адрес|ip地址|ipアドレス/;

/** The mailbox is full. */
const fullParts = [
  `(?:${recipients}|speicher|quota|cuota)[^.;]{0,40}(?:\\bvoll\\b|(?:ü|ue)berfüllt|(?:ü|ue)berschritten|\\bplein|saturé|dépassé|\\bllen[ao]|excedid|\\bpien[ao]\\b|\\bchei[ao]\\b|esaurit|przepełnion|pełn[aey]|\\bvol\\b|\\bfullt?\\b|fyldt|täynnä|plná|přepln|megtelt|betelt|\\bdolu\\b|dolmuş|plină|puna\\b)`,
  'zu ?viele (?:e-?)?mails|quota dépassé|переполнен|переповнен|закончилось место|已满|已滿|容量|いっぱい|용량',
];
export const fullInOtherLanguages = new RegExp(stripAccents(fullParts.join('|')));

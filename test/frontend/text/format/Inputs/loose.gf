

   # SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every rule of the layout, against it.   


import   cells ,attention # names   
func f(x:[M],k=3*2,y:i64 [M,2 * K])->(a:[M],[f (a + b),3 - 1]){

  # first

  param w : [4 * H , I]=- inf,
  # about b
  b:linear( N = 3 * M,bias = not  true , k=f(a+b)) as   "x"


  y=x[ - 1, 0 : : 2, :- 1,... , None,a<b+1]*- 2 ** - 1--x
  (a,(b , c'))=-(x+y)@k.T ,3
  z = softmax(tanh(s), where = abs(position-col)>=8 and(a+b)*2<3)
  for i in(n){x=x}
  for i in -n { # counted

    x =
   3
     y = f(
   a ,
 # inside
        b,



       c
       )   # behind
 }   # after
  u = g(x,(h,c+1),init=(h+1,
 c))


 return   1 .T+not_a,(  # two
 x)


}# tail
func g()->[]{return not(a or-b)} func h() -> [] {}


